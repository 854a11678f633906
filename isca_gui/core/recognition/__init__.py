"""Recognition with a trained model: votes per block, a verdict per picture, and how good it is."""

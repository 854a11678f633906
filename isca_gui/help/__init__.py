"""Help for people: start page, tour, help pages and What's This."""

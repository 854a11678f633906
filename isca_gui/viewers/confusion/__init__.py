"""The confusion viewer: how often each kind is recognised, and what it is mistaken for."""

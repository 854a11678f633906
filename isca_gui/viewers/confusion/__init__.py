"""The confusion viewer: how often each kind is recognised."""

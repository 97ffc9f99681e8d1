"""The actors: turns as supervised tasks, and what they need from the world."""

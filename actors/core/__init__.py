"""The decisions: synchronous, without a clock, holding every byte that matters."""

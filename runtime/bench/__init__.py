"""What things cost, measured as multiples of a floor in one run."""

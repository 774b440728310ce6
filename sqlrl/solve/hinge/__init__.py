"""The most probable state of a soft model: the least weighted sum of hinges over truth values in [0, 1], with a bound that proves it."""

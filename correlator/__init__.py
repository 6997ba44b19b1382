"""Tool events to recall events and trajectories: a pure core and the Faust agents around it."""

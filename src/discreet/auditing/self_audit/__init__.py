"""The self audit: every mechanism and every aggregate of discreet, controls first."""

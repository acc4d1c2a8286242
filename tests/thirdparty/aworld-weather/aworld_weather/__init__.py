"""Rain at weather stations, for AWorld."""

"""The server behind `seamount track ui`: receives deliveries, and serves MLflow's API and UI."""

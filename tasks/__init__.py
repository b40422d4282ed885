"""Thin Prefect tasks, one file a station of the road: each calls one library function."""

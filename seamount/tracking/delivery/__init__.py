"""Delivery of runs to a server over HTTP: to one of ours, or to any MLflow server.

The segments are the truth. What a target has not got yet is read from them and sent, by the watcher
beside the run or by `seamount track sync` later; the logger itself never waits for a network.
"""

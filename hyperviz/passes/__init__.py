"""Graph → graph: the config, the pipeline and its passes."""

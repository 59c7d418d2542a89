"""The models of tools/model-zoo, and how they become cases of `byoc conform`."""

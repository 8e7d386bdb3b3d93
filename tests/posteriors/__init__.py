"""Ten posteriors whose log densities and gradients Stan computed: the models (models.py) and Stan's values (data/)."""

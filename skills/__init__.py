"""Expert knowledge, one folder a skill, and the catalogue that reads it."""

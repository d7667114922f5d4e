"""What all blocks work on together: shares of long folds, updates of few elements."""

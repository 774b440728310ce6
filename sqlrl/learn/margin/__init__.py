"""Max-margin weights: the structural support vector machine with one slack variable, by cutting planes."""

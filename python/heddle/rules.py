"""The rules of a fuzzy network, as sentences and as arrays."""

import json

import numpy as np


class Rules:
    """Rules in the units of the training data.

    Attributes
    ----------
    sentences : list of str
        ``"IF x is low THEN y = 3"``, one for each rule.
    means, deviations : ndarray of shape (n_rules, n_features)
        Of the Gaussian ``exp(-((x - mean) / deviation)**2 / 2)`` of each input.
    consequents : ndarray of shape (n_rules, n_terms, n_outputs)
        ``n_terms`` is 1 for constants; for linear consequents it is 1 + n_features: a constant, then the slopes.
    """

    def __init__(self, model):
        rules = json.loads(model.document())["rules"]
        self.sentences = [rule["words"] for rule in rules]
        self.means = np.array([[each["mean"] for each in rule["sets"]] for rule in rules])
        self.deviations = np.array([[each["standard_deviation"] for each in rule["sets"]] for rule in rules])
        self.consequents = np.array(
            [np.transpose([[each["constant"], *each["slopes"]] for each in rule["consequents"]]) for rule in rules]
        )

    def __len__(self):
        return len(self.sentences)

    def __iter__(self):
        return iter(self.sentences)

    def __getitem__(self, index):
        return self.sentences[index]

    def __str__(self):
        return "\n".join(f"{number:>4}  {sentence}" for number, sentence in enumerate(self.sentences, 1))

    def __repr__(self):
        return f"<{len(self)} rules>\n{self}"

"""What a traced module could gain: roofs, chains, a model of cost, opportunities; all pure.

- costs: what operators cost now, and would with other steps (the prediction of each rung);
  neighbours that only move memory, as one kernel each
- opportunities: what was found, ranked by predicted gain
- report: all of it as one value; told: as text for a person
"""

"""Values as rows of a table: their form, and a column for each leaf.

Open first: `forms.py`.
"""

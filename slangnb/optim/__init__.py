"""Optimisers, and the loop that fits parameters of a Slang function.

>>> import slangnb as sn
>>> m = sn.session().compile("[Differentiable] float bowl(float a) { return (a - 3) * (a - 3); }")
>>> sn.optimize(m.bowl, params={"a": 0.0}, optimizer=sn.SGD(lr=0.5), steps=1).params
{'a': 3.0}
"""

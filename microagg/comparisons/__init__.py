"""What a masked file, of whatever tool, is still good for: the figures of two files side by side.

`reading` takes the numbers of both, `regression` and `propensity` are models of them, `comparing`
is the public function, and `result` what it finds.
"""

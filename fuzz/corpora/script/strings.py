__all__ = ['''a
''', "\x41\u00e9\101", f'{1}'] ; class A: pass
if x:
	class B:
		def g(): jax_op('m::r')

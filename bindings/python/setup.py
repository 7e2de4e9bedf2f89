"""The rest is in pyproject.toml. The library is native and asks nothing of the interpreter: one wheel for every Python 3 of a platform."""

from setuptools import setup
from setuptools.dist import Distribution
from wheel.bdist_wheel import bdist_wheel


class Native(Distribution):
    def has_ext_modules(self) -> bool:
        return True


class AnyInterpreter(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(distclass=Native, cmdclass={"bdist_wheel": AnyInterpreter})

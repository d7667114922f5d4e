"""Steps put together into rungs: which there are, how their outputs agree, their times in turns."""

"""`kernelwright ui`: what a state folder holds, live in a browser; reads alone."""

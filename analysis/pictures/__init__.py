"""Pictures as SVG text, from plain data: the roofline and what warps wait for; pure.

Every picture has a background of its own, so that it reads on light and dark pages alike, and is
800 pixels wide. Colours are those of Okabe and Ito, which colour-blind people can tell apart.
"""

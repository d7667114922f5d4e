"""What no kernel can beat: peaks, floors, and how they are measured."""

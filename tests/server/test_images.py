"""Results that name an image are sent with it."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path

import pytest

from kernelwright.server.protocol.replies import images_of

CONTENT = b"\x89PNG..."


@pytest.mark.parametrize("as_job", [False, True])
def test_the_image_of_a_result_is_sent_beside_it(tmp_path: Path, as_job: bool) -> None:
    place = tmp_path / "stalls.png"
    place.write_bytes(CONTENT)
    result = {"variant_id": "v1", "image": str(place)}
    (image,) = images_of({"status": "done", "result": result} if as_job else result)
    assert image.mime_type == "image/png" and b64decode(image.data) == CONTENT


def test_a_result_without_an_image_or_whose_file_has_gone_sends_none(tmp_path: Path) -> None:
    assert images_of({"variant_id": "v1"}) == []
    assert images_of({"status": "running", "job_id": "j1"}) == []
    assert images_of({"image": str(tmp_path / "gone.png")}) == []

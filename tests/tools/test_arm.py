"""Setting up Python for ARM; that it runs there is for ``make arm``."""

import subprocess

import pytest

from tools import arm


def test_what_is_missing_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(arm.shutil, "which", lambda name: None)
    with pytest.raises(arm.NotHereError, match="apt-get, dpkg, qemu-aarch64"):
        arm.set_up(tmp_path)


def test_what_could_not_be_fetched_is_named_and_fetched_again(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(arm.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(arm, "FOLDER", tmp_path)
    commands = []

    def run(command, **_):
        commands.append(command)
        return subprocess.CompletedProcess(command, 100, "", "no network")

    monkeypatch.setattr(arm.subprocess, "run", run)
    assert arm.main([]) == arm.main([]) == 2
    assert [command[-1] for command in commands] == ["update", "update"]
    assert "no network" in capsys.readouterr().err


def test_a_program_runs_by_the_script(monkeypatch, tmp_path):
    monkeypatch.setattr(arm.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(arm, "FOLDER", tmp_path)
    (tmp_path / "site").mkdir()
    (tmp_path / "root" / "usr" / "bin").mkdir(parents=True)
    (tmp_path / "root" / "usr" / "bin" / "python3").symlink_to("python3.11")
    commands = []

    def run(command, **_):
        commands.append(command)
        return subprocess.CompletedProcess(
            command, 7 if command[0].startswith(str(tmp_path)) else 0
        )

    monkeypatch.setattr(arm.subprocess, "run", run)
    assert arm.main(["-c", "pass"]) == 7
    assert commands[-1] == [str(tmp_path / "python"), "-c", "pass"]
    assert f'exec "/bin/qemu-aarch64" -L "{tmp_path}/root"' in (tmp_path / "python").read_text()

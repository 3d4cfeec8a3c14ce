"""A certificate that signs itself, for a server of servers.py."""

import datetime as dt
import ipaddress
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from servers import give_to_server

VALID = dt.timedelta(days=2)


@dataclass(frozen=True)
class CertificateFiles:
    """A certificate, and its key, which the server alone may read."""

    certificate: str
    key: str


@contextmanager
def certificate(*addresses: str) -> Iterator[CertificateFiles]:
    """Files with a certificate for these addresses of the network, removed at the end."""
    directory = Path(tempfile.mkdtemp(prefix="discreet-tls-", dir="/tmp"))
    try:
        directory.chmod(0o755)
        key = ec.generate_private_key(ec.SECP256R1())
        files = directory / "server.crt", directory / "server.key"
        files[0].write_bytes(_signed(key, addresses).public_bytes(serialization.Encoding.PEM))
        files[1].touch(mode=0o600)
        files[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        give_to_server(files[1])
        yield CertificateFiles(*map(str, files))
    finally:
        shutil.rmtree(directory)


def _signed(key: ec.EllipticCurvePrivateKey, addresses: tuple[str, ...]) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a server of tests")])
    now = dt.datetime.now(dt.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(each)) for each in addresses])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).add_extension(names, critical=False)
    builder = builder.not_valid_before(now - VALID).not_valid_after(now + VALID)
    return builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(
        key, hashes.SHA256()
    )

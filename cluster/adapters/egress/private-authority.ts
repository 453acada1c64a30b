/**
 * TLS of origins whose certificates a private authority signed (TRAWL_CA_FILE), for a browser that trusts the public
 * authorities only. For these origins the proxy ends the browser's TLS with a key of its own, which the browser is told to
 * accept, and opens TLS to the origin itself, which it verifies against that authority. Everything else passes through, and the
 * browser verifies it: no error of any other certificate is ignored.
 */
import { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createSecureContext, type DetailedPeerCertificate, TLSSocket } from "node:tls";
import { hostOf, secure } from "./pinned-connect.ts";
import { selfSigned } from "./self-signed.ts";

export interface PrivateAuthority {
  /** SHA-256 of the public key that the browser accepts, in base64. */
  readonly spki_sha256: string;
  /** Whether the origin's certificate is valid and of the private authority. The socket is new, and used up. */
  readonly isOriginOf: (socket: Socket, url: URL, signal: AbortSignal) => Promise<boolean>;
  /** Joins the browser's TLS and the origin's, which it verifies and answers. Throws EgressError; destroys the socket then. */
  readonly join: (near: Duplex, socket: Socket, url: URL, signal: AbortSignal) => Promise<TLSSocket>;
}

const PROTOCOLS = ["http/1.1"];

/** `ca`: PEM, each with one certificate or several. */
export function privateAuthority(ca: readonly string[]): PrivateAuthority {
  const { key, cert, spki_sha256 } = selfSigned(Date.now());
  const secureContext = createSecureContext({ key, cert });
  const roots = new Set(
    ca
      .flatMap((pem) => pem.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g) ?? [])
      .map((pem) => new X509Certificate(pem).fingerprint256),
  );
  return {
    spki_sha256,
    async isOriginOf(socket, url, signal) {
      try {
        const tls = await secure(socket, hostOf(url), { protocols: PROTOCOLS, ca }, signal);
        const root = rootOf(tls.getPeerCertificate(true));
        tls.destroy();
        return roots.has(root.fingerprint256);
      } catch {
        // No TLS, or a certificate without a trusted root: the browser says so in its own words.
        return false;
      }
    },
    async join(near, socket, url, signal) {
      const far = await secure(socket, hostOf(url), { protocols: PROTOCOLS, ca }, signal);
      const inner = new TLSSocket(near, { isServer: true, secureContext, ALPNProtocols: PROTOCOLS });
      inner.on("error", () => inner.destroy());
      far.on("error", () => far.destroy());
      inner.pipe(far);
      far.pipe(inner);
      inner.once("close", () => far.destroy());
      // The origin's last bytes may still be on their way to the browser.
      far.once("close", () => inner.end(() => inner.destroy()));
      return far;
    },
  };
}

/** The last certificate of a verified chain. */
function rootOf(certificate: DetailedPeerCertificate): DetailedPeerCertificate {
  let last = certificate;
  while (last.issuerCertificate && last.issuerCertificate !== last) last = last.issuerCertificate;
  return last;
}

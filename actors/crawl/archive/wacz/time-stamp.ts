/**
 * Time stamps of RFC 3161: the request for a time stamp over a text, and the checks of a response. The root of the authority is not
 * judged: each verifier of the file has a list of its own.
 */
import { hash, randomBytes, X509Certificate } from "node:crypto";
import { Integer, Null, OctetString } from "asn1js";
import {
  AlgorithmIdentifier,
  Certificate,
  id_eContentType_TSTInfo,
  MessageImprint,
  PKIStatus,
  SignedData,
  TimeStampReq,
  TimeStampResp,
  TSTInfo,
} from "pkijs";
import { type Unsigned, unsigned } from "./signer.ts";

const SHA256 = "2.16.840.1.101.3.4.2.1";
/** The extended use of a key for time stamps (RFC 5280 §4.2.1.12). */
const TIME_STAMPING = "1.3.6.1.5.5.7.3.8";
const NONCE_BYTES = 16;
const MAX_CERTIFICATES = 10;

export interface StampRequest {
  /** DER: a TimeStampReq that asks for the certificates of the authority. */
  readonly der: Buffer;
  readonly imprint: Buffer;
  readonly nonce: Integer;
}

export interface TimeStamp {
  readonly kind: "stamped";
  readonly at_ms: number;
  /** PEM, the certificate that signed first. */
  readonly chain: string;
}

export function stampRequest(text: string): StampRequest {
  const imprint = hash("sha256", text, "buffer");
  // A first bit of 0: the number is positive.
  const nonce = new Integer({ valueHex: Buffer.concat([Buffer.from([1]), randomBytes(NONCE_BYTES)]) });
  const request = new TimeStampReq({
    version: 1,
    messageImprint: new MessageImprint({
      hashAlgorithm: new AlgorithmIdentifier({ algorithmId: SHA256, algorithmParams: new Null() }),
      hashedMessage: new OctetString({ valueHex: imprint }),
    }),
    nonce,
    certReq: true,
  });
  return { der: Buffer.from(request.toSchema().toBER(false)), imprint, nonce };
}

/** `der`: a TimeStampResp for this request over `text`. */
export async function readStamp(
  der: Buffer,
  text: string,
  request: StampRequest,
): Promise<TimeStamp | Unsigned> {
  try {
    const { status, timeStampToken } = TimeStampResp.fromBER(der);
    if (status.status !== PKIStatus.granted && status.status !== PKIStatus.grantedWithMods)
      return unsigned("time_stamp_refused", `status ${status.status}`);
    const token = new SignedData({ schema: timeStampToken?.content });
    return await checkedStamp(token, text, request);
  } catch {
    return invalid("it cannot be read, or its signature is wrong");
  }
}

const invalid = (detail: string): Unsigned => unsigned("time_stamp_invalid", detail);

/** Throws what pkijs throws on data of another form, and on a wrong signature. */
async function checkedStamp(
  token: SignedData,
  text: string,
  { imprint, nonce }: StampRequest,
): Promise<TimeStamp | Unsigned> {
  const { eContentType, eContent } = token.encapContentInfo;
  if (eContentType !== id_eContentType_TSTInfo || !eContent) return invalid("it is no time stamp");
  const info = TSTInfo.fromBER(eContent.getValue());
  const { hashAlgorithm, hashedMessage } = info.messageImprint;
  const isOfText =
    hashAlgorithm.algorithmId === SHA256 && imprint.equals(Buffer.from(hashedMessage.getValue()));
  if (!isOfText || !info.nonce?.isEqual(nonce)) return invalid("it answers another request");
  if (token.signerInfos.length !== 1) return invalid("it has not one signature");
  const { signatureVerified, signerCertificate } = await token.verify({
    signer: 0,
    checkChain: false,
    data: new TextEncoder().encode(text).buffer,
    extendedMode: true,
  });
  if (!signatureVerified || !signerCertificate) return invalid("its signature is wrong");
  const signer = x509Of(signerCertificate);
  if (!signer.keyUsage?.includes(TIME_STAMPING))
    return invalid("its certificate is not one of a time stamp authority");
  const others = (token.certificates ?? []).filter((each) => each instanceof Certificate).map(x509Of);
  return { kind: "stamped", at_ms: info.genTime.getTime(), chain: chainOf(signer, others) };
}

const x509Of = (certificate: Certificate): X509Certificate =>
  new X509Certificate(Buffer.from(certificate.toSchema().toBER(false)));

/** Tokens have their certificates in any order; verifiers read each one as issued by the next. */
function chainOf(signer: X509Certificate, others: readonly X509Certificate[]): string {
  const chain = [signer];
  for (let last = signer; chain.length < MAX_CERTIFICATES && !last.checkIssued(last);) {
    const issuer = others.find((each) => last.checkIssued(each) && last.verify(each.publicKey));
    if (issuer === undefined) break;
    chain.push(issuer);
    last = issuer;
  }
  return chain.map(String).join("");
}

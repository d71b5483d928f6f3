import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** What a TLS server shows and holds, in PEM and PKCS #8. */
export interface SelfSigned {
  cert: string;
  key: string;
}

/** One value of ASN.1, as DER encodes it. @see ITU-T X.690, section 8.1 */
const der = (tag: number, ...contents: Uint8Array[]): Buffer => {
  const content = Buffer.concat(contents);
  const { length } = content;
  const long = length < 0x80 ? [] : length < 0x100 ? [0x81] : [0x82, length >> 8];
  return Buffer.concat([Buffer.from([tag, ...long, length & 0xff]), content]);
};
const sequence = (...contents: Uint8Array[]) => der(0x30, ...contents);
const hex = (text: string) => Buffer.from(text, 'hex');

const ecdsaWithSha256 = sequence(hex('06082a8648ce3d040302'));
const commonName = hex('0603550403');
const subjectAltName = hex('0603551d11');

const utcTime = (time: Date): Buffer =>
  der(0x17, Buffer.from(`${time.toISOString().replace(/\D/g, '').slice(2, 14)}Z`));

/** A new certificate for 127.0.0.1 that nobody else has signed, valid for a day. @see RFC 5280, section 4.1 */
export function selfSignedCertificate(): SelfSigned {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(der(0x31, sequence(commonName, der(0x0c, Buffer.from('127.0.0.1')))));
  const now = Date.now();
  const day = 86_400_000;
  const ipAddress = der(0x87, Buffer.from([127, 0, 0, 1]));
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1]), randomBytes(8)),
    ecdsaWithSha256,
    name,
    sequence(utcTime(new Date(now - day)), utcTime(new Date(now + day))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(subjectAltName, der(0x04, sequence(ipAddress))))),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', content, privateKey));
  const bytes = sequence(content, ecdsaWithSha256, signature).toString('base64');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${bytes.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** What stands in place of a secret. */
const REMOVED = '[removed]'

/** PEM of a private key, also where line ends are escaped. */
const PRIVATE_KEY = /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,20000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g
/** Base64 of what begins with `-----BEGIN`. */
const ENCODED_PEM = /LS0tLS1CRUdJTi[A-Za-z0-9+/=_-]{0,40000}/g
/** A JSON Web Token: three parts, the first a JSON object. */
const WEB_TOKEN = /\beyJ[A-Za-z0-9_-]{5,600}\.[A-Za-z0-9_-]{2,20000}\.[A-Za-z0-9_-]{0,4000}/g
/** Tokens of Vault, and access keys of AWS. */
const KNOWN_TOKENS = /\b(?:hv[sbr]\.[A-Za-z0-9_-]{20,300}|s\.[A-Za-z0-9]{24}|AKIA[A-Z0-9]{16})\b/g
const CREDENTIAL_HEADER =
  /\b((?:proxy-)?authorization|(?:set-)?cookie|x-api-key|x-vault-token)(["']?\s{0,4}[:=]\s{0,4})[^\r\n]{1,8000}/gi
const CREDENTIAL_FIELD =
  /\b(password|passwd|passphrase|token|api[-_]?key|client[-_]?secret|secret[-_]?id|secret[-_]?access[-_]?key|private[-_]?key)(["']?\s{0,4}[:=]\s{0,4})(?:"[^"\r\n]{0,8000}"|'[^'\r\n]{0,8000}'|[^\s,;"'{}[\]]{1,8000})/gi
const PASSWORD_IN_URL = /\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@]{0,200}):[^\s/@]{1,400}@/gi

/** The text without private keys, tokens and passwords. Repetitions are bounded, so that no input is slow. */
export function redactText(text: string): string {
  return text
    .replace(PRIVATE_KEY, REMOVED)
    .replace(ENCODED_PEM, (found) => (isPrivateKey(found) ? REMOVED : found))
    .replace(WEB_TOKEN, REMOVED)
    .replace(KNOWN_TOKENS, REMOVED)
    .replace(CREDENTIAL_HEADER, `$1$2${REMOVED}`)
    .replace(CREDENTIAL_FIELD, `$1$2${REMOVED}`)
    .replace(PASSWORD_IN_URL, `$1:${REMOVED}@`)
}

function isPrivateKey(encoded: string): boolean {
  return Buffer.from(encoded, 'base64').toString('latin1').includes('PRIVATE KEY')
}

/** A Kubernetes object without what may be secret: data of Secrets, values of environment variables, and what tools keep of earlier versions. */
export function redactObject(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redactObject)
  if (typeof value !== 'object' || value === null) return value
  const object = value as Readonly<Record<string, unknown>>
  const isSecret = object['kind'] === 'Secret'
  return Object.fromEntries(
    Object.entries(object).flatMap(([name, member]): readonly (readonly [string, unknown])[] => {
      if (name === 'managedFields' || name === 'kubectl.kubernetes.io/last-applied-configuration') return []
      if (isSecret && (name === 'data' || name === 'stringData')) return [[name, namesOf(member)]]
      if (name === 'env' && Array.isArray(member)) return [[name, member.map(withoutValue)]]
      return [[name, redactObject(member)]]
    }),
  )
}

function namesOf(data: unknown): unknown {
  return typeof data === 'object' && data !== null
    ? Object.fromEntries(Object.keys(data).map((name) => [name, REMOVED]))
    : REMOVED
}

function withoutValue(variable: unknown): unknown {
  return typeof variable === 'object' && variable !== null && 'value' in variable
    ? { ...variable, value: REMOVED }
    : variable
}

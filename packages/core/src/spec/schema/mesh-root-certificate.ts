import { Type } from '@sinclair/typebox'

import { oneOf, portNumber, secretRef, struct, type Spec } from './common.js'

/** config.openservicemesh.io MeshRootCertificate. */
export const MeshRootCertificateSpecSchema = struct(
  {
    trustDomain: Type.String({
      default: 'cluster.local',
      minLength: 1,
      description: 'Trust domain of the identities.',
    }),
    role: Type.Optional(
      oneOf(
        ['active', 'passive', 'inactive'],
        'active: signs certificates and is trusted. passive: is trusted, but does not sign. inactive: is not used. Defaults to active.',
      ),
    ),
    spiffeEnabled: Type.Optional(
      Type.Boolean({ description: 'Accepted for compatibility: certificates always contain a SPIFFE identity.' }),
    ),
    provider: struct(
      {
        tresor: Type.Optional(
          struct(
            {
              ca: struct({ secretRef: secretRef('Secret with ca.crt and private.key.') }, 'The certificate authority.'),
            },
            'The built-in certificate authority.',
          ),
        ),
        vault: Type.Optional(
          struct(
            {
              host: Type.String({ minLength: 1, description: 'Host of the server.' }),
              port: portNumber('Port of the server.'),
              role: Type.String({ minLength: 1, description: 'Role that issues certificates.' }),
              protocol: oneOf(['http', 'https'], 'Protocol of the server.'),
              mount: Type.Optional(
                Type.String({ minLength: 1, description: 'Path of the PKI secrets engine. Defaults to pki.' }),
              ),
              namespace: Type.Optional(Type.String({ minLength: 1, description: 'Namespace of Vault Enterprise.' })),
              caBundle: Type.Optional(
                Type.String({
                  minLength: 1,
                  description: "Roots of the server's own certificate, PEM. Defaults to those of the system.",
                }),
              ),
              auth: Type.Optional(
                struct(
                  {
                    kind: oneOf(
                      ['token', 'tokenFile', 'kubernetes', 'appRole'],
                      'How the control plane proves its identity to Vault. Defaults to token.',
                    ),
                    mount: Type.Optional(
                      Type.String({
                        minLength: 1,
                        description: 'Path of the auth method. Defaults to kubernetes or approle.',
                      }),
                    ),
                    role: Type.Optional(
                      Type.String({ minLength: 1, description: 'Role of kubernetes, or role id of appRole.' }),
                    ),
                    tokenFile: Type.Optional(
                      Type.String({
                        minLength: 1,
                        description: 'File with the token, or with the token of the service account for kubernetes.',
                      }),
                    ),
                  },
                  'Login to Vault.',
                ),
              ),
              token: Type.Optional(
                struct(
                  {
                    secretKeyRef: struct(
                      {
                        ...secretRef('').properties,
                        key: Type.String({ minLength: 1, description: 'Key in the Secret.' }),
                      },
                      'Secret with the token, or with the secret id of appRole.',
                    ),
                  },
                  'Access token.',
                ),
              ),
            },
            'HashiCorp Vault.',
          ),
        ),
        certManager: Type.Optional(
          struct(
            {
              issuerName: Type.String({ minLength: 1, description: 'Name of the issuer.' }),
              issuerKind: Type.String({
                minLength: 1,
                description: 'Kind of the issuer: Issuer, ClusterIssuer, or a kind of another group.',
              }),
              issuerGroup: Type.String({ minLength: 1, description: 'API group of the issuer.' }),
              ca: Type.Optional(
                struct(
                  { secretRef: secretRef('Secret with the roots in ca.crt.') },
                  'Accepted roots of the issuer. Defaults to the roots that it reports.',
                ),
              ),
            },
            'cert-manager.',
          ),
        ),
      },
      'Provider of certificates. Exactly one field.',
    ),
  },
  'A root of trust of the mesh.',
)
/** Spec of a MeshRootCertificate. */
export type MeshRootCertificateSpec = Spec<typeof MeshRootCertificateSpecSchema>

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
    role: Type.Optional(oneOf(['active', 'passive', 'inactive'], 'Role of the root in a rotation.')),
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
              token: struct(
                {
                  secretKeyRef: struct(
                    {
                      ...secretRef('').properties,
                      key: Type.String({ minLength: 1, description: 'Key in the Secret.' }),
                    },
                    'Secret with the token.',
                  ),
                },
                'Access token.',
              ),
            },
            'HashiCorp Vault.',
          ),
        ),
        certManager: Type.Optional(
          struct(
            {
              issuerName: Type.String({ minLength: 1, description: 'Name of the issuer.' }),
              issuerKind: oneOf(['Issuer', 'ClusterIssuer'], 'Kind of the issuer.'),
              issuerGroup: Type.String({ minLength: 1, description: 'API group of the issuer.' }),
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

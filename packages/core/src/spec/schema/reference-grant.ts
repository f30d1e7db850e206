import { Type } from '@sinclair/typebox'

import { struct, type Spec } from './common.js'

const group = (description: string) => Type.String({ maxLength: 253, description })
const kind = (description: string) => Type.String({ minLength: 1, maxLength: 63, description })

/** policy.openservicemesh.io ReferenceGrant: the shape of Gateway API's kind of that name. */
export const ReferenceGrantSpecSchema = struct(
  {
    from: Type.Array(
      struct(
        {
          group: group('API group of the objects that refer; empty for Kubernetes itself.'),
          kind: kind('Kind of the objects that refer.'),
          namespace: Type.String({ minLength: 1, maxLength: 63, description: 'Namespace of the objects that refer.' }),
        },
        'Objects that may refer to this namespace.',
      ),
      { minItems: 1, maxItems: 16, description: 'Who may refer to objects of this namespace.' },
    ),
    to: Type.Array(
      struct(
        {
          group: group('API group of the objects that may be referred to; empty for Kubernetes itself.'),
          kind: kind('Kind of the objects that may be referred to.'),
          name: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: 253,
              description: 'Name of the one object that may be referred to; all objects of the kind when absent.',
            }),
          ),
        },
        'Objects of this namespace that may be referred to.',
      ),
      { minItems: 1, maxItems: 16, description: 'What may be referred to.' },
    ),
  },
  'Lets objects of other namespaces refer to objects of its own namespace.',
)
/** Spec of a ReferenceGrant. */
export type ReferenceGrantSpec = Spec<typeof ReferenceGrantSpecSchema>

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
          group: group('API group of the referring objects; empty for the core group.'),
          kind: kind('Kind of the referring objects.'),
          namespace: Type.String({ minLength: 1, maxLength: 63, description: 'Namespace of the referring objects.' }),
        },
        'Objects that may refer to this namespace.',
      ),
      { minItems: 1, maxItems: 16, description: 'Objects that may refer to objects of this namespace.' },
    ),
    to: Type.Array(
      struct(
        {
          group: group('API group of the referenced objects; empty for the core group.'),
          kind: kind('Kind of the referenced objects.'),
          name: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: 253,
              description: 'Name of the referenced object. Defaults to all objects of the kind.',
            }),
          ),
        },
        'Objects of this namespace that may be referenced.',
      ),
      { minItems: 1, maxItems: 16, description: 'Objects that may be referenced.' },
    ),
  },
  'Allows objects of other namespaces to refer to objects of its own namespace.',
)
/** Spec of a ReferenceGrant. */
export type ReferenceGrantSpec = Spec<typeof ReferenceGrantSpecSchema>

import { inspect } from 'node:util'

import { describe, expect, it } from '@jest/globals'

import type { ForbiddenBy } from '../kubernetes-error.js'
import { statusError } from './status-error.js'

const RBAC =
  'secrets is forbidden: User "system:serviceaccount:osm-system:osm-injector" cannot create resource "secrets" in API group "" in the namespace "shop"'
const QUOTA =
  'secrets "hush" is forbidden: exceeded quota: small, requested: secrets=1, used: secrets=5, limited: secrets=5'
const TERMINATING =
  'secrets "hush" is forbidden: unable to create new content in namespace shop because it is being terminated'

function bodyOf(message: string, more: object = {}): object {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Forbidden', code: 403, message, ...more }
}

describe('the error for a 403', () => {
  it.each<[ForbiddenBy | undefined, string, object]>([
    ['rbac', RBAC, bodyOf(RBAC)],
    ['quota', QUOTA, bodyOf(QUOTA)],
    ['quota', 'a quota that asks for more', bodyOf('pods "a" is forbidden: failed quota: q: must specify cpu')],
    ['terminating', TERMINATING, bodyOf(TERMINATING)],
    [
      'terminating',
      'its cause, however it is worded',
      bodyOf('no', { details: { causes: [{ reason: 'NamespaceTerminating', field: 'metadata.namespace' }] } }),
    ],
    [
      undefined,
      'another webhook',
      bodyOf('admission webhook "policy.example" denied the request: quota of secrets: hush'),
    ],
    [undefined, 'no text', { kind: 'Status', code: 403 }],
    [undefined, 'no Status', {}],
    [undefined, 'members of other types', { kind: 'Status', message: {}, reason: 1, details: { causes: { a: 1 } } }],
    [undefined, 'no causes', { kind: 'Status', details: { causes: [null, 'a', { field: [] }] } }],
  ])('is about %s: %s', (forbiddenBy, _from, body) => {
    const plain = statusError('create Pod shop/a', false, { status: 403, body })
    expect(plain.forbiddenBy).toBe(forbiddenBy)
    expect(plain.details.forbiddenBy).toBe(forbiddenBy)
    expect(statusError('create Secret shop/a', true, { status: 403, body }).forbiddenBy).toBe(forbiddenBy)
  })

  it.each([
    [RBAC, 'create Secret shop/a: 403 Forbidden: no role allows it'],
    [QUOTA, 'create Secret shop/a: 403 Forbidden: a quota of the namespace does not allow it'],
    [TERMINATING, 'create Secret shop/a: 403 Forbidden: the namespace is being terminated'],
    ['admission webhook "x" denied the request: hush', 'create Secret shop/a: 403 Forbidden'],
  ])('speaks of Secrets in words of its own (%#)', (message, expected) => {
    const error = statusError('create Secret shop/a', true, { status: 403, body: bodyOf(message) })
    expect(error.message).toBe(expected)
    expect(`${inspect(error, { depth: 20 })}${JSON.stringify(error)}`).not.toMatch(/hush|osm-injector/)
  })

  it('is the only one that is about such things', () => {
    const error = statusError('create Secret shop/a', true, { status: 409, body: bodyOf(QUOTA, { code: 409 }) })
    expect(error.forbiddenBy).toBeUndefined()
    expect(error.message).toBe('create Secret shop/a: 409 Forbidden')
  })
})

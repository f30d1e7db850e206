import { describe, expect, it } from '@jest/globals'

import { readAdmissionReview, writeAdmissionReview } from './admission-review.js'

const kind = { group: 'apps', version: 'v1', kind: 'Deployment' }

function bodyOf(request: object): Uint8Array {
  const whole = { uid: 'u-1', kind, operation: 'CREATE', namespace: 'shop', name: 'books', ...request }
  return Buffer.from(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: whole }))
}

describe('what the API server asks', () => {
  it('is read with what is absent left empty', () => {
    const object = { metadata: { name: 'books' } }
    expect(readAdmissionReview(bodyOf({ object, dryRun: true }))).toEqual({
      uid: 'u-1',
      operation: 'CREATE',
      namespace: 'shop',
      name: 'books',
      kind: 'apps/v1/Deployment',
      subResource: '',
      dryRun: true,
      object,
      oldObject: undefined,
    })
    const bare = { kind: undefined, operation: undefined, namespace: undefined, name: undefined }
    expect(readAdmissionReview(bodyOf(bare))).toMatchObject({ kind: '', operation: '', namespace: '', name: '' })
    expect(readAdmissionReview(bodyOf({ kind: { group: '', version: 'v1', kind: 'Pod' } })).kind).toBe('v1/Pod')
  })

  it.each<[string, (value: string) => object]>([
    ['request.uid', (uid) => ({ uid })],
    ['request.name', (name) => ({ name })],
    ['request.operation', (operation) => ({ operation })],
    ['request.subResource', (subResource) => ({ subResource })],
    ['request.kind.group', (group) => ({ kind: { ...kind, group } })],
    ['request.kind.version', (version) => ({ kind: { ...kind, version } })],
    ['request.kind.kind', (last) => ({ kind: { ...kind, kind: last } })],
  ])('has a %s of 253 characters at most', (path, requestWith) => {
    expect(readAdmissionReview(bodyOf(requestWith('x'.repeat(253)))).uid).not.toBe('')
    const tooLong = `the request has a ${path} of more than 253 characters`
    expect(() => readAdmissionReview(bodyOf(requestWith('x'.repeat(254))))).toThrow(
      expect.objectContaining({ code: 'OSM_ADMISSION_REVIEW', message: tooLong }),
    )
  })

  it('has a namespace that can be one, or none', () => {
    for (const namespace of ['', 'a', 'x'.repeat(63)])
      expect(readAdmissionReview(bodyOf({ namespace })).namespace).toBe(namespace)
    for (const namespace of ['x'.repeat(64), 'x'.repeat(1 << 20), 'Shop', 'a.b', '../shop', '-a', 'a\n'])
      expect(() => readAdmissionReview(bodyOf({ namespace }))).toThrow(
        expect.objectContaining({ code: 'OSM_ADMISSION_REVIEW' }),
      )
  })

  it.each([
    [{ name: ['x'] }, 'request.name that is not text'],
    [{ kind: { ...kind, kind: { a: 1 } } }, 'request.kind.kind that is not text'],
  ])('has text where text belongs (%#)', (request, message) => {
    expect(() => readAdmissionReview(bodyOf(request))).toThrow(message)
  })
})

describe('what it is told', () => {
  const operations = [{ op: 'add', path: '/metadata/labels/a', value: '"ä\\\n🙂' }]
  const patch = Buffer.from(JSON.stringify(operations)).toString('base64')

  it.each<[Parameters<typeof writeAdmissionReview>[1], object]>([
    [{ allowed: true, warnings: [] }, { allowed: true }],
    [{ allowed: true, operations: [], warnings: [] }, { allowed: true }],
    [
      { allowed: true, operations, warnings: [] },
      { allowed: true, patchType: 'JSONPatch', patch },
    ],
    [
      { allowed: true, operations, warnings: ['}} "closed"'] },
      { allowed: true, patchType: 'JSONPatch', patch, warnings: ['}} "closed"'] },
    ],
    [
      { allowed: false, code: 422, reason: 'Invalid', message: 'no', warnings: [] },
      { allowed: false, status: { status: 'Failure', code: 422, reason: 'Invalid', message: 'no' } },
    ],
  ])('is one AdmissionReview (%#)', (answer, response) => {
    expect(JSON.parse(writeAdmissionReview('u"1', answer))).toEqual({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid: 'u"1', ...response },
    })
  })
})

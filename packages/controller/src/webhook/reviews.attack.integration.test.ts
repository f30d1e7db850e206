import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { bundleModule } from '../../../../tools/lib/bundle.mjs'
import {
  measureReviewAttack,
  reviewBounds,
  type ReviewAttackFigures,
} from '../../../../tools/testing/attack/measure-reviews.mjs'
import { worstObjects } from '../../test/worst-objects.js'

const MAX_ANSWER_BYTES = 16_384
/** Reviews that the attacker has under way. */
const AT_ONCE = 32

function review(object: object & { readonly kind: string }, namespace = 'zoo'): string {
  const kind = { group: 'x', version: 'v1', kind: object.kind }
  const request = { uid: 'u', kind, operation: 'CREATE', namespace, name: 'worst', object }
  return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request })
}

const honestRoutes = {
  apiVersion: 'specs.smi-spec.io/v1alpha4',
  kind: 'HTTPRouteGroup',
  metadata: { name: 'honest', namespace: 'shop' },
  spec: { matches: [{ name: 'books', pathRegex: '/books/[0-9]+', methods: ['GET'] }] },
}

describe('a controller under a stream of the worst reviews', () => {
  let folder: string
  let figures: ReviewAttackFigures

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-reviews-'))
    const program = join(folder, 'attacked-controller.mjs')
    await bundleModule('packages/controller/test/attack/attacked-controller-main.ts', program)
    figures = await measureReviewAttack({
      program,
      path: '/validate',
      bodies: worstObjects().map(({ object }) => review(object)),
      honest: review(honestRoutes, 'shop'),
      atOnce: AT_ONCE,
    })
  })

  afterAll(() => rm(folder, { recursive: true }))

  it('answers each of them, with few words', () => {
    expect(figures.alone).toHaveLength(worstObjects().length)
    expect(figures.alone.filter(({ status, bytes }) => status !== 200 || bytes >= MAX_ANSWER_BYTES)).toEqual([])
  })

  it('answers probes and honest reviews within a second', () => {
    expect(figures.failures).toEqual([])
    expect(figures.slowest.review).toBeLessThan(reviewBounds.answerMs)
    expect(figures.slowest.health).toBeLessThan(reviewBounds.answerMs)
    expect(figures.answered).toBeGreaterThan(AT_ONCE)
  })

  it('stays small, and keeps the event loop for less than a tenth of a second', () => {
    expect(figures.longestBlockMs).toBeLessThan(reviewBounds.longestBlockMs)
    expect(figures.growthBytes).toBeLessThan(reviewBounds.growthBytes)
  })
})

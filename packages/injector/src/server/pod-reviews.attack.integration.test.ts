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
import { podOf } from '../../test/fixture.js'
import { worstPods } from '../../test/worst-pods.js'

/** Reviews that the attacker has under way. */
const AT_ONCE = 16

function review(object: object): string {
  const kind = { group: '', version: 'v1', kind: 'Pod' }
  const asked = { uid: 'u', kind, operation: 'CREATE', namespace: 'shop', object }
  return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: asked })
}

describe('an injector under a stream of the worst reviews', () => {
  let folder: string
  let figures: ReviewAttackFigures

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-pod-reviews-'))
    const program = join(folder, 'attacked-injector.mjs')
    await bundleModule('packages/injector/test/attack/attacked-injector-main.ts', program)
    figures = await measureReviewAttack({
      program,
      path: '/mutate-pod-creation',
      bodies: worstPods().map(({ pod }) => review(pod)),
      honest: review(podOf()),
      atOnce: AT_ONCE,
    })
  })

  afterAll(() => rm(folder, { recursive: true }))

  it.each(worstPods().map((worst, index) => ({ ...worst, index })))(
    'answers a review of a pod with $what',
    ({ index, refusal }) => {
      const { status, text } = figures.alone[index] ?? { status: 0, text: '' }
      expect(status).toBe(200)
      expect(text).toContain(refusal === undefined ? '"allowed":true' : '"allowed":false')
      expect(text).toContain(refusal ?? '"patch"')
    },
  )

  it('gives honest pods their sidecar, and answers probes, within a second', () => {
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

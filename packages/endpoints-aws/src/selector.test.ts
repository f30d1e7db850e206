import { describe, expect, it } from '@jest/globals'
import type { JsonObject } from '@osm-ts/endpoints-api'

import { customResource } from '@osm-ts/endpoints-testkit'
import { selectorsOf } from './selector.js'
import type { AwsSettings } from './settings.js'

const region = 'eu-central-1'
const account = '123456789012'
const id = 'i-0123456789abcdef0'

function select(resource: JsonObject, settings: Partial<AwsSettings> = {}): ReturnType<typeof selectorsOf>[number] {
  const object = customResource('AwsResource', 'web', { service: 'web', resources: [resource] })
  const [first] = selectorsOf(object, { regions: [{ name: region }], account, ...settings })
  if (first === undefined) throw new Error('no selector')
  return first
}

describe('selectors of an AwsResource', () => {
  it('are equal for an instance by ID and by ARN', () => {
    const byId = select({ instanceId: id })
    expect(byId).toMatchObject({ scope: region, value: { kind: 'instance', id, region } })
    expect(select({ arn: `arn:aws:ec2:${region}:${account}:instance/${id}` })).toEqual(byId)
  })

  it('read the ARN of an auto-scaling group, in every partition', () => {
    const arn = `arn:aws-us-gov:autoscaling:us-gov-west-1:${account}:autoScalingGroup:1-2:autoScalingGroupName/web`
    expect(select({ arn }, { regions: [{ name: 'us-gov-west-1' }] })).toMatchObject({
      value: { kind: 'group', name: 'web', region: 'us-gov-west-1' },
    })
  })

  it.each([
    { arn: `arn:aws:s3:::bucket` },
    { arn: `arn:aws:ec2:${region}:${account}:volume/vol-1` },
    { arn: `arn:aws:ec2:${region}:${account}:instance/x` },
    { instanceId: 'web' },
  ])('refuse %j', (resource) => {
    expect(select(resource)).toMatchObject({ field: 'spec.resources[0]', code: 'InvalidSelector' })
  })

  it('refuse another account, and every ARN where none is configured', () => {
    const arn = `arn:aws:ec2:${region}:999999999999:instance/${id}`
    const message = 'account 999999999999 is not the one configured for the provider'
    expect(select({ arn })).toMatchObject({ code: 'NotAllowed', message })
    const { account: _, ...others } = { account, regions: [{ name: region }] }
    const object = customResource('AwsResource', 'web', { service: 'web', resources: [{ arn }] })
    expect(selectorsOf(object, others)).toEqual([{ field: 'spec.resources[0]', code: 'NotAllowed', message }])
  })

  it('refuse a region that is not configured, and one of other namespaces', () => {
    expect(select({ tags: { app: 'web' }, region: 'us-east-1' })).toMatchObject({
      code: 'NotAllowed',
      message: 'region us-east-1 is not one of those configured for the provider',
    })
    expect(select({ instanceId: id }, { regions: [{ name: region, namespaces: ['bank'] }] })).toMatchObject({
      code: 'NotAllowed',
    })
  })

  it('need a region where several are configured', () => {
    const regions = [{ name: region }, { name: 'us-east-1' }]
    expect(select({ instanceId: id }, { regions })).toMatchObject({ code: 'InvalidSelector' })
    expect(select({ instanceId: id, region: 'us-east-1' }, { regions })).toMatchObject({ scope: 'us-east-1' })
  })
})

import { describe, expect, it } from '@jest/globals'
import { ResolveFailure } from '@osm-ts/endpoints-polling'

import { operationOf } from './clients.js'
import { readRetryAfter, toResolveFailure } from './failures.js'

describe('toResolveFailure', () => {
  it.each([
    [{ statusCode: 404, code: 'ResourceNotFound' }, 'NotFound', false],
    // An identity that lost its access to a subscription hears this.
    [{ statusCode: 404, code: 'SubscriptionNotFound' }, 'Unavailable', true],
    [{ statusCode: 403, code: 'AuthorizationFailed' }, 'AccessDenied', true],
    [{ statusCode: 401 }, 'AccessDenied', true],
    [{ name: 'CredentialUnavailableError' }, 'AccessDenied', true],
    [{ name: 'AbortError' }, 'CallTimedOut', true],
    [{ statusCode: 500 }, 'Unavailable', true],
    ['text', 'Unavailable', true],
  ])('reads %j as %s', (error, code, isUncertain) => {
    expect(toResolveFailure(error, 'virtualMachines/get')).toMatchObject({ code, isUncertain })
  })

  it('repeats neither messages nor codes that are not a word', () => {
    const { message } = toResolveFailure({ statusCode: 500, code: 'Bearer secret', message: 'secret' }, 'x')
    expect(message).toBe('x failed (500)')
  })

  it('leaves a failure as it is', () => {
    const failure = new ResolveFailure('TooManyPages', 'text')
    expect(toResolveFailure(failure, 'x')).toBe(failure)
  })
})

describe('readRetryAfter', () => {
  it.each([
    ['7', 7000],
    ['Thu, 01 Jan 1970 00:00:09 GMT', 8000],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['soon', undefined],
    [undefined, undefined],
  ])('reads %s', (header, milliseconds) => {
    expect(readRetryAfter(header, 1000)).toBe(milliseconds)
  })
})

describe('operationOf', () => {
  it('names the types of resources and none of their names', () => {
    const path =
      '/subscriptions/s/resourceGroups/g/providers/microsoft.Compute/virtualMachineScaleSets/web/networkInterfaces'
    expect(operationOf(path)).toBe('virtualMachineScaleSets/networkInterfaces')
  })
})

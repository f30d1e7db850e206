import { describeProviderRotation } from './support/describe-provider-rotation.js'

describeProviderRotation('envoy', { goesBack: true })

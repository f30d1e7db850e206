"""What a driver tells its host when it does not do what it was asked for."""

import grpc
from osm.driver.v1 import driver_pb2


class Refusal(Exception):
    """Crosses to the host with its code: OSM_DRIVER_PATCH, OSM_DRIVER_START, or one of the driver's own."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


async def tell(context: grpc.aio.ServicerContext, refusal: Refusal) -> None:
    """Ends the call with that error. Does not return."""
    failure = driver_pb2.Failure(code=refusal.code, message=str(refusal))
    trailer = (("osm-error-bin", failure.SerializeToString()),)
    await context.abort(grpc.StatusCode.UNKNOWN, str(refusal), trailing_metadata=trailer)


def code_of(error: grpc.aio.AioRpcError) -> str:
    """The code of an error that the host told; "unknown" if it told none."""
    for name, value in error.trailing_metadata() or ():
        if name == "osm-error-bin":
            return driver_pb2.Failure.FromString(value).code
    return "unknown"

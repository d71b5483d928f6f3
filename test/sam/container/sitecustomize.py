"""Python loads this before the SAM command line, which has no option for it: its containers reach the loopback
interface of this machine, under the address 10.0.2.2, and nothing else of this machine."""

from docker.models.containers import ContainerCollection

create = ContainerCollection.create


def create_with_loopback(self, image, command=None, **options):
    options.setdefault("network_mode", "slirp4netns:allow_host_loopback=true")
    return create(self, image, command, **options)


ContainerCollection.create = create_with_loopback

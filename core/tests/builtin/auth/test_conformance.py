from collections.abc import Sequence

from google.protobuf.message import Message
from quorate.builtin.auth import plugin
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.testing import PluginConformance
from quorate.v1 import auth_pb2 as pb

#: What needs a user, which the examples do not make.
OF_A_USER = (pb.PutBindings, pb.KeepTokens, pb.DeleteBindings, pb.DeleteTokens)
OWN = Plugin(name="auth", distribution="quorate", version="1", module=plugin)


class TestAuth(PluginConformance):
    plugin = "auth"
    golden = "../../golden/quorate.binpb"
    catalog = build([OWN])

    def log(self) -> Sequence[Message]:
        """What a user has while it is there, and the examples."""
        return [*self._life(), *super().log()]

    def under_faults(self) -> Sequence[Message]:
        """The same, without the examples that are refused since their user is gone."""
        examples = [each for each in self._examples() if not isinstance(each, OF_A_USER)]
        return [*self._life(), *examples, *examples]

    def _life(self) -> list[Message]:
        """What happens to a user from its beginning to its end."""
        token = pb.Token(user="ada", id="00")
        binding = pb.Binding(user="ada", role="reader")
        return [
            pb.CreateUsers(users=[pb.User(name="ada")]),
            pb.KeepTokens(tokens=[pb.KeepToken(token=token)]),
            pb.PutBindings(bindings=[binding]),
            pb.DeleteTokens(tokens=[pb.DeleteToken(user="ada", id="00")]),
            pb.DeleteBindings(bindings=[pb.DeleteBinding(user="ada", role="reader")]),
            pb.DeleteUsers(users=[pb.DeleteUser(name="ada")]),
        ]

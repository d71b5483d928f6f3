import sys

import jwt
from login_user import login_user

for line in sys.stdin:
    try:
        login_user(line.strip())
        print("accepted")
    except jwt.PyJWTError as error:
        print(f"rejected: {error}")
